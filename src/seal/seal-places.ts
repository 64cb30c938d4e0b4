import type { SealPlace } from './seal.ts'

interface SealedSite {
  readonly id: string
  readonly role: string
  readonly kind: string
  readonly endpoint: string
  readonly username: string
  readonly ca: string
  readonly fingerprint: string
}

/** Everything that decides where a password is sent, and to whom it is shown there. */
export const sitePasswordPlace = (site: SealedSite): SealPlace => [
  'site-password',
  ...[site.id, site.role, site.kind, site.endpoint, site.username, site.ca, site.fingerprint],
]

/** A cursor may hold a session: it holds for the same place, looked at through the same scopes. */
export const siteCursorPlace = (
  site: SealedSite & { readonly settings: Readonly<Record<string, unknown>> },
): SealPlace => {
  const [, ...parts] = sitePasswordPlace(site)
  return ['site-cursor', ...parts, JSON.stringify(site.settings.scopes ?? [])]
}

/** What signs the deliveries of a webhook. */
export const webhookSecretPlace = (id: string): SealPlace => ['webhook-secret', id]

/** The whole URL of a webhook, beside the origin that everybody may see. */
export const webhookUrlPlace = (id: string, origin: string): SealPlace => ['webhook-url', id, origin]

/** The private half of a key that signs certificates; its id follows from the public half. */
export const signingKeyPlace = (id: string): SealPlace => ['signing-key', id]

/** The kept answer of a request: of whom, under which key, to what. */
export const answerPlace = (request: {
  readonly actor: string
  readonly key: string
  readonly digest: Buffer
}): SealPlace => ['answer', request.actor, request.key, request.digest.toString('hex')]

/** What shows that a key is the one this database is sealed with. */
export const keyCheckPlace: SealPlace = ['key-check']

/** What is kept of a key that was replaced. */
export const formerKeyPlace = (keyId: string): SealPlace => ['former-key', keyId]
