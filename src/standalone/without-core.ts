/**
 * A command that leaves no core dump: that would be a file with every secret of the process. Node cannot set the limit,
 * the shell can, and then becomes the program: its process id, its pipes and its channel are the shell's.
 */
export const withoutCore = (
  program: string,
  args: readonly string[],
): readonly [command: string, args: readonly string[]] => [
  '/bin/sh',
  ['-c', 'ulimit -c 0; exec "$0" "$@"', program, ...args],
]
