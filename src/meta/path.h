/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and places of files (Java: FileStorePathFactory, DataFilePathFactory, PartitionPathUtils). The only place that builds
 * them. Results are owned: free with pml_env__free.
 */
#ifndef PML_META_PATH_H
#define PML_META_PATH_H

#include "meta/data_file.h"
#include "meta/options.h"

/* "a" + "/" + "b". */
char *pml_path__join(pml_env *env, const char *a, const char *b);
/* <root> for main, <root>/branch/branch-<b> else. */
char *pml_path__branch(pml_env *env, const char *root, const char *branch);
char *pml_path__schema(pml_env *env, const char *branch_root, int64_t id);
char *pml_path__snapshot(pml_env *env, const char *branch_root, int64_t id);
char *pml_path__manifest(pml_env *env, const char *root, const char *name);
char *pml_path__index(pml_env *env, const char *root, const char *name);

/* Partition values as text before escaping (null, blank: the default name), one owned string per key in out[n].
   Refuses types whose text we cannot make as Java does (PML_E_UNSUPPORTED). */
int pml_path__partition_texts(char **out, pml_env *env, const pml_table_schema *s, const pml_table_options *o,
                              pml_bytes partition, pml_error *err);
/* Whether a value counts as null in paths: empty, or nothing but Java's white space. */
bool pml_path__is_blank(const char *text, size_t n);
/* "k=v/k2=v2/" escaped; "" for an unpartitioned table. */
int pml_path__partition(char **out, pml_env *env, const pml_table_schema *s, const pml_table_options *o, pml_bytes partition,
                        pml_error *err);
/* The bucket directory: <root>[/data-dir]/<partition>bucket-<b>. */
int pml_path__bucket(char **out, pml_env *env, const char *root, const pml_table_schema *s, const pml_table_options *o,
                     pml_bytes partition, int32_t bucket, pml_error *err);
/* A file beside the data files of a bucket. */
int pml_path__in_bucket(char **out, pml_env *env, const char *root, const pml_table_schema *s, const pml_table_options *o,
                        pml_bytes partition, int32_t bucket, const char *name, pml_error *err);
/* An external path as files are opened by: URIs of local files lose their scheme. */
const char *pml_path__without_scheme(const char *path);
/* Full path of a data file, external path honoured. */
int pml_path__data_file(char **out, pml_env *env, const char *root, const pml_table_schema *s, const pml_table_options *o,
                        pml_bytes partition, int32_t bucket, const pml_data_file *f, pml_error *err);
/* "<prefix><uuid>-<counter>[.<codec>].<format>". */
char *pml_path__data_file_name(pml_env *env, const pml_table_options *o, const char *uuid, int64_t counter);
/* The format of a data file from its name: "parquet" of "data-1.zst.parquet", "csv" of "x.csv.gz". Points into text[16]. */
int pml_path__format(char text[16], const char *file_name, pml_error *err);
bool pml_path__is_orc(const char *file_name);
/* Escapes as Java's PartitionPathUtils.escapePathName. */
int pml_path__escape(pml_buf *out, const char *s, size_t n);

#endif
