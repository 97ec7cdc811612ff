/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few words of cmocka that the store kit and what it stands on use, for pml-store-conform, which is installed where there
 * is no cmocka. A broken assertion ends the process that runs the case; the program tells its parent why.
 */
#ifndef PML_TESTS_PLAIN_ASSERT_H
#define PML_TESTS_PLAIN_ASSERT_H

#include <stdio.h>

/* Defined by the program; does not return. */
void plain_assert_failed(const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

#define assert_non_null(p)                                             \
    do {                                                               \
        if ((p) == NULL)                                               \
            plain_assert_failed(__FILE__, __LINE__, "%s is NULL", #p); \
    } while (0)
#define assert_int_equal(a, b)                                                                             \
    do {                                                                                                   \
        const long long plain_a_ = (long long)(a), plain_b_ = (long long)(b);                              \
        if (plain_a_ != plain_b_)                                                                          \
            plain_assert_failed(__FILE__, __LINE__, "%s is %lld instead of %lld", #a, plain_a_, plain_b_); \
    } while (0)
#define fail_msg(...)      plain_assert_failed(__FILE__, __LINE__, __VA_ARGS__)
#define _fail(file, line)  plain_assert_failed(file, line, "a call of the library failed, see above")
#define print_message(...) (void)fprintf(stderr, __VA_ARGS__)
#define print_error(...)   (void)fprintf(stderr, __VA_ARGS__)

#endif
