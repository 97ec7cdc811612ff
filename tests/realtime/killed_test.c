/* SPDX-License-Identifier: Apache-2.0 */
/* 82, 88, 23.1: a process is killed before each change it makes to files, from the first write to the last advance, and while it
   re-anchors what another writer dropped. Another one reads the committed end, replays from there, and every row is in the table once. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/faulty_fs.h"
#include "support/rt_kit.h"

/* Being killed before a read is being killed after the change before it. */
enum {
    CHANGES = FS_OP(FS_OP_CREATE) | FS_OP(FS_OP_WRITE) | FS_OP(FS_OP_CLOSE_WRITE) | FS_OP(FS_OP_PUBLISH) | FS_OP(FS_OP_REPLACE) |
              FS_OP(FS_OP_REMOVE_FILE) | FS_OP(FS_OP_MAKE_DIRECTORY)
};

static void die(void *arg, int kind, const char *path)
{
    (void)arg, (void)kind, (void)path;
    (void)kill(getpid(), SIGKILL);
}

/* Two cycles of five rows, and an anchor, killed before change `at`. Leaves with 0 when it came to its end. */
static void live_and_die(rt_kit *origin, int at)
{
    rt_kit k;
    faulty_fs f;
    const pml_file_system fast = rt_kit_fs();
    faulty_fs_init(&f, &fast);
    rt_kit_share(&k, origin, &f.fs);
    faulty_fs_call_at(&f, at, CHANGES, die, NULL);
    rt_kit_start(&k, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        rt_kit_write(&k, 5, "a");
        (void)rt_kit_cycle(&k, i);
    }
    (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
    (void)atomic_fetch_add(&k.t->mono_ns, 3600ll * 1000000000);
    pml_plan_free(rt_kit_plan(&k));
    _exit(rt_kit_metrics(&k).reanchors == 1 ? 0 : 1);
}

static void killed_process_loses_and_doubles_nothing_after_a_replay(void **state)
{
    (void)state;
    bool killed = true;
    int ends[3] = {0};
    for (int at = 1; killed; at++) {
        rt_kit origin, k;
        int status;
        rt_kit_create(&origin, NULL, "", "");
        (void)fflush(NULL);
        pid_t pid = fork();
        if (pid == 0)
            live_and_die(&origin, at);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        assert_true(killed || status == 0);
        (void)test_random(origin.t); /* other uuids than the killed one */
        rt_kit_share(&k, &origin, NULL);
        int64_t end = rt_kit_end(&k, -1, NULL, 0);
        k.next_id = end < 0 ? 0 : end;
        assert_int_equal(k.next_id % 5, 0);
        ends[k.next_id / 5]++;
        rt_kit_must_store(&k, 0, k.next_id);
        rt_kit_start(&k, NULL, NULL);
        rt_kit_write(&k, 15 - k.next_id, "a");
        rt_kit_must_show(&k, 0, 15);
        (void)rt_kit_cycle(&k, 9);
        rt_kit_must_store(&k, 0, 15);
        assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 15);
        rt_kit_close(&k);
        rt_kit_close(&origin);
    }
    for (int i = 0; i < 3; i++)
        assert_true(ends[i] > 0); /* it died before, between and after the commits */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_process_loses_and_doubles_nothing_after_a_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
