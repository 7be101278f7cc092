/** The server's side of a WebSocket. */
export type ServerSocket = {
  send(message: string | Uint8Array): number
  close(code?: number, reason?: string): void
  terminate(): void
}

/** Handles one WebSocket that a client opened. */
export type SocketHandler = {
  open(socket: ServerSocket): void
  message(socket: ServerSocket, message: string | Buffer): void
  close(socket: ServerSocket, code: number, reason: string): void
}
