import type { WorldMaker } from './make-world.ts'
export const makeBroken = async (_maker: WorldMaker): Promise<void> => {}
