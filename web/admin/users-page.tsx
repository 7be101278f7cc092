import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { LoadProblem } from '../ui/notice.tsx'
import { SearchField } from '../ui/search-field.tsx'
import { usersQuery } from './admin-api.ts'
import { AdminFrame } from './admin-frame.tsx'
import { NewUser } from './new-user.tsx'
import { LoadingRows, ShowMore } from './paging.tsx'
import { UserRow } from './user-row.tsx'

const route = getRouteApi('/signed-in/admin/users')

/** Page `/admin/users`. */
export function UsersPage() {
  const { search } = route.useSearch()
  const navigate = useNavigate()
  return (
    <AdminFrame title="Users" lead="All accounts on this server">
      <NewUser />
      <SearchField
        label="Search by name or email"
        placeholder="Name or email"
        value={search ?? ''}
        maxLength={254}
        onSearch={(words) =>
          void navigate({ to: '/admin/users', search: words ? { search: words } : {}, replace: true })
        }
        className="max-w-md"
      />
      <Users search={search ?? ''} />
    </AdminFrame>
  )
}

function Users({ search }: { search: string }) {
  const { data, error, refetch, ...paging } = useInfiniteQuery(usersQuery(search))
  const users = data?.pages.flatMap((page) => page.users)
  if (!users && error) return <LoadProblem what="users" error={error} onRetry={refetch} />
  if (!users) return <LoadingRows what="users" />
  if (users.length === 0) {
    return (
      <p role="status" className="rounded-xl border border-dashed border-edge px-6 py-12 text-center text-muted">
        No users match “{search}”.
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
