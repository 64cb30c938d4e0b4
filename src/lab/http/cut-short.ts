/** Thrown by a call that ends here by a fault: its connection is cut, and nobody is told anything. */
export const cutShort = new Error('The connection was cut by a fault.')
