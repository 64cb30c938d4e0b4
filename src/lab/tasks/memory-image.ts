import { blockBytes, noise } from '../model/disk-content.ts'

/**
 * What a guest's memory looks like on disk: a line that says whose it is and how far it had counted, then bytes
 * that only that guest at that moment could have left. Who reads it can tell that it goes on where it stopped.
 */
export const memoryImage = (guest: {
  machine: string
  uuid: string
  bootId: string
  counter: number
}): Buffer => {
  const first = Buffer.alloc(blockBytes)
  first.write(`DROVER LAB MEMORY\n${JSON.stringify(guest)}\0`)
  const seed = `${guest.bootId}:${guest.counter}`
  return Buffer.concat([first, noise(seed, 1), noise(seed, 2), noise(seed, 3)])
}
