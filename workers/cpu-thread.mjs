// Plain JavaScript: a thread of Node 20 cannot start from TypeScript, so it first learns to read it.
import { enableTypeScript } from '../src/process/node-version.mjs'

await enableTypeScript()
const { cpuTasks } = await import('./cpu-tasks.ts')

/** Runs one named task in this thread. */
export default ({ task, input }) => cpuTasks[task](input)
