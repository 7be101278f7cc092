import { getRouteApi, Link, useRouter } from '@tanstack/react-router'
import { SecondFactorRequest } from '../../src/features/accounts/sign-in/schemas.ts'
import { ApiError } from '../api/request.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { CodeField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { AuthFrame } from './auth-frame.tsx'
import { bringSecondFactor } from './session.ts'

const route = getRouteApi('/login')

/** Page `/login?step=two-factor`. */
export function SecondFactorPage() {
  const router = useRouter()
  const { redirect } = route.useSearch()
  const form = useForm(
    SecondFactorRequest,
    async ({ code }) => {
      await bringSecondFactor(code)
      router.history.push(redirect ?? '/')
    },
    (error) => (error instanceof ApiError && /code/i.test(error.message) ? 'code' : null),
  )
  return (
    <AuthFrame title="Two-factor authentication" lead="Enter the code from your authenticator app.">
      <Form form={form} className="grid gap-4">
        <CodeField label="Code" />
        <Button type="submit" look="primary" isPending={form.isPending} className="mt-1 min-h-10">
          Sign in
        </Button>
        <Link to="/login" search={redirect ? { redirect } : {}} className={buttonClass('ghost')}>
          Start over
        </Link>
      </Form>
    </AuthFrame>
  )
}
