import { sendAnswers } from './send-answers.ts'
import { testShortForm } from './short-form.ts'

testShortForm(sendAnswers)
