/* SPDX-License-Identifier: Apache-2.0 */
/* Consumer files: a number comes out, or an error that names the file. */
#include "fuzz.h"
#include "table/consumer.h"

FUZZ_MEMORY(4 * MIB);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    pml_error err = PML_ERROR_INIT;
    int64_t next = 0;
    fuzz_begin();
    const pml_json_source src = {"consumer-7", PML_PLACE_FILE, PML_E_CORRUPT, &err};
    int rc = pml_consumer__parse(&next, (pml_bytes){data, len}, &src);
    fuzz_must_name(rc, &err, "consumer-7");
    fuzz_end();
    return 0;
}
