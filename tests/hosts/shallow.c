/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that the other Arrow of these tests can harm: a bridge opened without deep binding calls into it and dies.
 *
 *     shallow BRIDGE.so LIBRARY        LIBRARY is opened first, for every later one to see
 */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int status;
    if (argc != 3 || dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL) == NULL)
        return 2;
    if (fork() == 0) {
        void *bridge = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        /* Without the other Arrow it comes to here and finds its entry. */
        _exit(bridge == NULL ? 3 : dlsym(bridge, "pml_bridge_entry") == NULL);
    }
    if (wait(&status) < 0 || !WIFSIGNALED(status)) {
        fprintf(stderr,
                "shallow: the bridge lives beside the other Arrow without deep binding: these tests show nothing\n");
        return 1;
    }
    printf("shallow: the other Arrow kills a bridge that is bound to it\n");
    return 0;
}
