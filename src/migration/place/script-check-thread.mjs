// Plain JavaScript: a thread of Node 20 cannot start from TypeScript, so it first learns to read it.
import { enableTypeScript } from '../../process/node-version.mjs'

await enableTypeScript()
const { checkScript } = await import('./script-thread.ts')

/** Looks at one placement script in this thread. */
export default ({ input }) => checkScript(input)
