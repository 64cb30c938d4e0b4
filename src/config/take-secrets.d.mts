export declare const fileSettings: readonly string[]
export declare const takeSecrets: () => NodeJS.ProcessEnv
