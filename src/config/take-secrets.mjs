// Plain JavaScript on Node's own modules: this runs before anything else does, packages included.

/** Settings that may come from a file, named by `<NAME>_FILE`: how a container gets its secrets. */
export const fileSettings = [
  'DATABASE_URL',
  'DROVER_API_DATABASE_URL',
  'DROVER_CONDUCTOR_DATABASE_URL',
  'DROVER_WORKER_DATABASE_URL',
  'DROVER_LAB_DATABASE_URL',
  'DROVER_SETUP_DATABASE_URL',
  'REDIS_URL',
  'DROVER_ADMIN_TOKEN',
  'DROVER_SECRET_KEY',
  'DROVER_SECRET_KEYS_OLD',
]

const names = [
  ...fileSettings,
  'DROVER_LAB_PASSWORD',
  'DROVER_LAB_ADMIN_TOKEN',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
]

/**
 * The environment as it was given, for who reads the configuration; in the process itself it is without secrets from
 * here on. Whatever we start gets the environment, and a report that Node writes of a crash shows it.
 */
export const takeSecrets = () => {
  const given = { ...process.env }
  for (const name of names) delete process.env[name]
  return given
}
