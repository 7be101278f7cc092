import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Search } from 'lucide-react'
import { type ChangeEvent, useEffect, useId, useRef } from 'react'
import { LoadProblem } from '../ui/notice.tsx'
import { usersQuery } from './admin-api.ts'
import { AdminFrame } from './admin-frame.tsx'
import { LoadingRows, ShowMore } from './paging.tsx'
import { UserRow } from './user-row.tsx'

const route = getRouteApi('/signed-in/admin/users')

/** How long typing must rest before the server is asked. */
const REST_MS = 250

/** `/admin/users`: every account of this server. */
export function UsersPage() {
  const { search } = route.useSearch()
  return (
    <AdminFrame title="Users" lead="Every account of this server.">
      <SearchField search={search ?? ''} />
      <Users search={search ?? ''} />
    </AdminFrame>
  )
}

function Users({ search }: { search: string }) {
  const { data, error, refetch, ...paging } = useInfiniteQuery(usersQuery(search))
  const users = data?.pages.flatMap((page) => page.users)
  if (!users && error) return <LoadProblem what="The users" error={error} onRetry={refetch} />
  if (!users) return <LoadingRows what="the users" />
  if (users.length === 0) {
    return (
      <p role="status" className="rounded-xl border border-dashed border-edge px-6 py-12 text-center text-muted">
        Nobody's name or email contains “{search}”.
      </p>
    )
  }
  return (
    <>
      <ul aria-label="Users" className="divide-y divide-line rounded-xl border border-line bg-surface">
        {users.map((user) => (
          <UserRow key={user.id} user={user} />
        ))}
      </ul>
      <ShowMore what="users" error={error} {...paging} />
    </>
  )
}

function SearchField({ search }: { search: string }) {
  const id = useId()
  const navigate = useNavigate()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const ask = ({ target }: ChangeEvent<HTMLInputElement>) => {
    clearTimeout(timer.current)
    const text = target.value.trim()
    timer.current = setTimeout(
      () => void navigate({ to: '/admin/users', search: text ? { search: text } : {}, replace: true }),
      REST_MS,
    )
  }
  return (
    <search className="relative block max-w-md">
      <label htmlFor={id} className="sr-only">
        Search by name or email
      </label>
      <Search aria-hidden className="pointer-events-none absolute top-3 left-3 size-4 text-muted" />
      <input
        id={id}
        type="search"
        autoComplete="off"
        spellCheck={false}
        maxLength={254}
        placeholder="Name or email"
        defaultValue={search}
        onChange={ask}
        className="min-h-10 w-full rounded-md border border-edge bg-surface pr-3 pl-9 text-base text-ink placeholder:text-muted sm:text-[0.9375rem]"
      />
    </search>
  )
}
