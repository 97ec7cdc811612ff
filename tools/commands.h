/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands; each lives in the file of its name. */
#ifndef PML_TOOLS_COMMANDS_H
#define PML_TOOLS_COMMANDS_H

#include "args.h"

extern const command command_table_create, command_table_describe, command_table_list, command_table_drop,
    command_table_truncate, command_table_drop_partition;
extern const command command_load, command_ingest;
extern const command command_scan, command_lookup, command_count, command_dump, command_changelog;
extern const command command_snapshots, command_files, command_offsets, command_offsets_repair, command_offsets_clean,
    command_schema, command_realtime_status;

#endif
