/** What goes wrong before a request leaves: the name, the way there, the connection, the certificate. */
const UNSENT =
  /^(?:E(?:CONNREFUSED|NOTFOUND|AI_\w+|HOSTUNREACH|NETUNREACH)|CERT_\w+|UNABLE_TO_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|ERR_TLS_\w+)$/

/** Did `fetch` fail before the request left, so that it cannot have cost anything? */
export function isUnsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && UNSENT.test(error.code)
}
