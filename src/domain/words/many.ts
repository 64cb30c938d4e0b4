/** `1 machine`, `3 machines`; with what is said of them: `1 machine is`, `3 machines are`. */
export const many = (count: number, thing: string, plural = `${thing}s`): string =>
  `${count} ${count === 1 ? thing : plural}`
