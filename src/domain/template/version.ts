/**
 * `wanted`: asked for and not live yet. `kept`: it was live, and its replica is on the shelf. `gone`: it was live, and its
 * replica is removed. `withdrawn`: it never came to be live.
 */
export const versionStates = ['wanted', 'live', 'kept', 'gone', 'withdrawn'] as const
export type VersionState = (typeof versionStates)[number]

export const versionCauses = ['create', 'update', 'rollback'] as const
export type VersionCause = (typeof versionCauses)[number]

/**
 * Effects of this kind are the removal of versions that a template no longer keeps. Until the grace of the template is
 * over each is a plan, and no failed clean-up.
 */
export const removalKind = 'template-removal'
