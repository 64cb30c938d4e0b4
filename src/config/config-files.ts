import { readFileSync } from 'node:fs'
import { DroverError } from '../errors.ts'
import { whyUnreadable } from '../unreadable.ts'
import { fileSettings } from './take-secrets.mjs'

/** The environment with what its `<NAME>_FILE` settings point at. */
export const withFiles = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const values = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  for (const name of fileSettings) {
    const path = values[`${name}_FILE`]
    if (path === undefined) continue
    if (values[name] !== undefined)
      throw configError(name, `${name} and ${name}_FILE are both set.`, `Unset ${name} or ${name}_FILE.`)
    try {
      const text = readFileSync(path, 'utf8').trim()
      if (text !== '') values[name] = text
    } catch (cause) {
      throw configError(
        `${name}_FILE`,
        `${name}_FILE names ${path}, which cannot be read: ${whyUnreadable(cause)}.`,
        `Let ${name}_FILE name a file that this user can read and that holds ${name}, such as /run/secrets/${name.toLowerCase()}; or unset it.`,
      )
    }
  }
  return values
}

/** A setting that is not valid, by its name. */
export const configError = (
  field: string,
  message: string,
  remedy = `Set ${field} in the environment to such a value, or unset it for the default.`,
): DroverError =>
  new DroverError({
    code: 'config-invalid',
    class: 'config',
    message,
    remedy,
    field,
  })
