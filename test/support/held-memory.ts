import v8 from 'node:v8'
import vm from 'node:vm'

/** Garbage is not held, and how much of it there is depends on what ran before: it is collected first. */
v8.setFlagsFromString('--expose-gc')
const collectGarbage: () => void = vm.runInNewContext('gc')

/** The bytes of the heap that something still refers to. */
export const heldBytes = (): number => {
  collectGarbage()
  return process.memoryUsage().heapUsed
}
