import type { WorldMaker } from './make-world.ts'
export const makeLarge = async (_maker: WorldMaker): Promise<void> => {}
