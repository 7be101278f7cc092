import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate, useRouter } from '@tanstack/react-router'
import { SetupRequest, SetupResponse } from '../../src/features/accounts/registration/schemas.ts'
import { ApiError, api, request } from '../api/request.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { Loaded, Notice } from '../ui/notice.tsx'
import { AuthFrame, IdentityFields } from './auth-frame.tsx'
import { setUp, signIn } from './session.ts'

const route = getRouteApi('/setup')

/** Page `/setup?token=`. */
export function SetupPage() {
  const { token } = route.useSearch()
  const setup = useQuery({
    queryKey: ['setup'],
    queryFn: ({ signal }) => request(SetupResponse, api.GET('/api/setup', { signal })),
  })
  return (
    <AuthFrame title="Set up Stead" lead="The first account becomes the administrator.">
      <Loaded query={setup} what="setup" placeholder={null}>
        {({ isNeeded }) => (isNeeded ? token ? <SetupForm token={token} /> : <NoLink /> : <IsDone />)}
      </Loaded>
    </AuthFrame>
  )
}

function SetupForm({ token }: { token: string }) {
  const router = useRouter()
  const navigate = useNavigate()
  const form = useForm(
    SetupRequest,
    async (body) => {
      await setUp(body)
      try {
        await signIn({ email: body.email, password: body.password })
      } catch {
        return navigate({ to: '/login', search: { done: 'signup' }, replace: true })
      }
      router.history.replace('/')
    },
    fieldOf,
  )
  return (
    <Form form={form} className="grid gap-4">
      {form.problem?.fields.token !== undefined && <DeadLink />}
      <input type="hidden" name="token" value={token} />
      <IdentityFields />
      <Button type="submit" look="primary" isPending={form.isPending} className="mt-1 min-h-10">
        Create administrator account
      </Button>
    </Form>
  )
}

function NoLink() {
  return (
    <Notice tone="problem" title="Setup link missing">
      Open the link that Stead prints at startup, or create a new one with <code>stead user setup-link</code>.
    </Notice>
  )
}

function DeadLink() {
  return (
    <Notice tone="problem" title="This setup link has expired">
      It works once and expires after one day. Create a new one with <code>stead user setup-link</code>.
    </Notice>
  )
}

function IsDone() {
  return (
    <Notice tone="good" title="Stead is already set up">
      <Link to="/login" className={`${buttonClass('plain')} justify-self-start`}>
        Sign in
      </Link>
    </Notice>
  )
}

function fieldOf(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null
  if (error.status === 403) return 'token'
  if (/email/i.test(error.message)) return 'email'
  return error.status === 400 && /password/i.test(error.message) ? 'password' : null
}
