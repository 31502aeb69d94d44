/**
 * A password, or a user and a password.
 */
export type Credentials = string | {
    readonly user?: string | undefined;
    readonly password: string;
};
/**
 * Gives user and password for each new connection.
 */
export type CredentialsProvider = () => Credentials | Promise<Credentials>;
/**
 * A password, or a user and a password.
 *
 * @typedef {string | { readonly user?: string | undefined, readonly password: string }} Credentials
 */
/**
 * Gives user and password for each new connection.
 *
 * @typedef {() => Credentials | Promise<Credentials>} CredentialsProvider
 */
/**
 * The function as the native part has it.
 *
 * @param {string} name
 * @param {unknown} provider
 * @returns {object}
 */
export function credentials(name: string, provider: unknown): object;
