/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file system in memory that knows what a power cut does. It promises no more than POSIX does:
 *   - of a file's content only what was there at its last sync is safe; of the rest any part may survive, also with zeros
 *     in place of bytes;
 *   - of a directory only the names at its last sync are safe; each name that was created, published, replaced or removed
 *     since then is, on its own, in any of the states it has had since. A directory whose own name is lost takes all below
 *     it along;
 *   - syncing a file does not make its name durable.
 *
 *     sim_fs *sim = sim_fs_new();
 *     test_env *t = test_env_open(sim_fs_system(sim));     // its paths begin in an empty "/"; t->dir is of no use
 *     sim_fs_crash_at(sim, 4);                             // four more operations have an effect
 *     ... the code under test; from the fifth operation on everything fails ...
 *     sim_fs_restart(sim, seed);                           // power is back; seed decides what survived
 *     test_env_close(t);
 *     sim_fs_free(sim);
 *
 * Thread-safe. Handles that were open at a crash only fail afterwards and must still be closed.
 */
#ifndef PML_TESTS_SIM_FS_H
#define PML_TESTS_SIM_FS_H

#include <paimonlive/sys/file_system.h>

#include <stdbool.h>

typedef struct sim_fs sim_fs;

/* Two seeds with a meaning; all others choose at random, the same for the same seed. */
enum { SIM_FS_LOSE_ALL = 0, SIM_FS_KEEP_ALL = 1 };

sim_fs *sim_fs_new(void);
/* Another one that is as s is now, with what is not durable, up and with no operation yet: a set-up or a life is run once, and many tries
   begin where it ended. An environment over it must draw other names than the one before. */
sim_fs *sim_fs_copy(sim_fs *s);
void sim_fs_free(sim_fs *s);
const pml_file_system *sim_fs_system(sim_fs *s);
/* Operations so far, failed ones included; neither close_read nor those after the crash point count. */
long long sim_fs_operations(sim_fs *s);
/* Power cut and restart at once. */
void sim_fs_crash(sim_fs *s, uint64_t seed);
/* The n-th operation from now (0: none) is the last one with an effect; later ones fail with PML_E_IO. */
void sim_fs_crash_at(sim_fs *s, long long n);
/* Whether the crash point has been passed, that is, an operation has failed because of it. */
bool sim_fs_is_down(sim_fs *s);
/* sim_fs_crash, and disarms crash_at. */
void sim_fs_restart(sim_fs *s, uint64_t seed);
/* Makes everything durable: for the set-up of a test. */
void sim_fs_sync_all(sim_fs *s);

#endif
