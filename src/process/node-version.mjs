// Plain JavaScript on Node's own modules: this runs before any package is installed.

const oldest = [20, 19]
const firstWithTypes = [22, 18]

const current = () => process.versions.node.split('.').map(Number)

const atLeast = ([major, minor]) => {
  const [ourMajor, ourMinor] = current()
  return ourMajor > major || (ourMajor === major && ourMinor >= minor)
}

/** Ends the process with one clear line when this Node is too old for the code. */
export const requireNode = () => {
  if (atLeast(oldest)) return
  process.stderr.write(
    `Drover needs Node ${oldest.join('.')} or newer; this is ${process.versions.node}. ` +
      'Install a newer Node (24 is best) and start again.\n',
  )
  process.exit(1)
}

/** Lets `import()` read TypeScript: Node does it by itself from 22.18 on, before that tsx does. */
export const enableTypeScript = async () => {
  if (atLeast(firstWithTypes)) return
  const { register } = await import('tsx/esm/api')
  register()
}
