/**
 * `wanted`: requested, not live yet. `kept`: was live, the replica is on the shelf. `gone`: was live, the replica is
 * removed. `withdrawn`: was never live.
 */
export const versionStates = ['wanted', 'live', 'kept', 'gone', 'withdrawn'] as const
export type VersionState = (typeof versionStates)[number]

export const versionCauses = ['create', 'update', 'rollback'] as const
export type VersionCause = (typeof versionCauses)[number]

/**
 * Effects of this kind remove versions that a template no longer keeps. Until the grace period of the template is over,
 * such an effect is planned work, not a failed clean-up.
 */
export const removalKind = 'template-removal'
