/**
 * Rooms of a wing by the title of their tag: what the room is about, and what each of its routes does, verb first. A route is
 * `GET /api/keys`; where ports differ, that of one port has its name behind it, `POST /api/heartbeat backend`.
 */
export type Domain = Readonly<Record<string, Readonly<{ about: string; routes: Readonly<Record<string, string>> }>>>
