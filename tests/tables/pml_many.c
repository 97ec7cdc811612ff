/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command many times in one process: what a process costs to start and to end with the sanitizers and Arrow in it is ten times what
 * it costs to read a small table.
 *
 * pml_many IN OUT ERR: each line of standard input is one command, its words in hexadecimal with a blank between them. It runs with the
 * file IN as standard input, OUT and ERR as standard output and standard error, which are emptied before; then a line with its exit code
 * is the answer. A command that ends the process leaves no answer, and what it said in ERR; so do leaks, which are looked for at the end.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 256 };

int pml_main(int argc, char **argv); /* main of tools/pml.c */

static int fail(const char *what)
{
    perror(what);
    return 99;
}

static int nibble(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* The words of a line, in its place; -1: too many. */
static int words_of(char **words, char *line)
{
    int n = 0;
    for (char *at = line; *at != '\0' && *at != '\n';) {
        char *word = at;
        if (n == WORDS_MAX)
            return -1;
        words[n++] = word;
        for (; *at != ' ' && *at != '\n' && *at != '\0'; at += 2)
            *word++ = (char)(nibble(at[0]) << 4 | nibble(at[1]));
        at += *at == ' ';
        *word = '\0';
    }
    words[n] = NULL;
    return n;
}

static int empty(int fd)
{
    return ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 ? 0 : -1;
}

static int become(const char *path, int fd)
{
    int opened = open(path, fd == STDIN_FILENO ? O_RDONLY : O_WRONLY | O_APPEND);
    if (opened < 0 || dup2(opened, fd) < 0)
        return -1;
    return close(opened);
}

int main(int argc, char **argv)
{
    char *line = NULL, *words[WORDS_MAX + 2];
    size_t room = 0;
    if (argc != 4)
        return fail("pml_many IN OUT ERR");
    FILE *commands = fdopen(dup(STDIN_FILENO), "r"), *answers = fdopen(dup(STDOUT_FILENO), "w");
    if (commands == NULL || answers == NULL)
        return fail("the standard streams");
    for (int fd = 0; fd < 3; fd++)
        if (become(argv[1 + fd], fd) != 0)
            return fail(argv[1 + fd]);
    while (getline(&line, &room, commands) > 0) {
        words[0] = argv[0];
        int n = words_of(words + 1, line);
        rewind(stdin); /* forgets what it had of the input before */
        if (n < 0 || empty(STDOUT_FILENO) != 0 || empty(STDERR_FILENO) != 0)
            return fail("a command");
        int code = pml_main(n + 1, words);
        (void)fflush(stdout);
        (void)fprintf(answers, "%d\n", code);
        if (fflush(answers) != 0)
            return fail("the answer");
    }
    free(line);
    (void)fclose(commands);
    (void)fclose(answers);
    return 0;
}
