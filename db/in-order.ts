/**
 * Rows in the order of their ids. Statements that write many jobs at once all go through them in this order, so
 * that two of them wait for each other and never in a ring.
 */
export const inOrder = <Row extends { readonly id: string }>(rows: readonly Row[]): Row[] =>
  [...rows].sort((a, b) => (a.id < b.id ? -1 : a.id === b.id ? 0 : 1))
