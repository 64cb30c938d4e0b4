import { sealBrokenCode } from '../src/domain/inventory/connectivity.ts'
import { DroverError } from '../src/errors.ts'

/** Thrown before anything is sent. */
class SiteSealBroken extends DroverError {
  override get cameToNothing(): boolean {
    return true
  }
}

/**
 * The stored password of a site cannot be opened. Work with the site waits as for a site that does not answer, but no
 * number of tries ends the wait (`pauseForPassword`): a person does, at the site, not at each entry whose source is
 * off meanwhile.
 */
export const siteSealBroken = (
  { role, name }: { readonly role: string; readonly name: string },
  cause: DroverError,
): DroverError => {
  const again = `drover ${role}s set ${name} --password`
  const why = typeof cause.detail?.why === 'string' ? cause.detail.why : 'its seal is broken'
  return new SiteSealBroken(
    {
      code: sealBrokenCode,
      class: 'environment',
      message: `The stored password of the ${role} ${name} does not open: ${why}. Compare the address of the ${role} with the right one, then give the password again: ${again}.`,
      remedy: `Find out who changed the database. Compare the address, user and certificate of the ${role} with the right ones. Then give its password again: ${again}, with --endpoint where the address was changed; or give every process the key that it was stored with. What waits for the ${role} goes on by itself within a quarter of an hour, unless its deadline or window ends first.`,
      detail: { role, name, why },
    },
    { cause },
  )
}
