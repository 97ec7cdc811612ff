/* SPDX-License-Identifier: Apache-2.0 */
/* VECTOR columns are lists in a file: Arrow's fixed-size lists become ordinary ones before they are written. */
#ifndef PML_FORMAT_BRIDGE_LOWERED_H
#define PML_FORMAT_BRIDGE_LOWERED_H

#include "format/bridge/border.h"

namespace pml_bridge_ns {

std::shared_ptr<arrow::Schema> schema_lowered(const std::shared_ptr<arrow::Schema> &schema);
arrow::Result<std::shared_ptr<arrow::RecordBatch>> batch_lowered(const std::shared_ptr<arrow::RecordBatch> &batch,
                                                                 const std::shared_ptr<arrow::Schema> &lowered,
                                                                 arrow::MemoryPool *pool);

} // namespace pml_bridge_ns

#endif
