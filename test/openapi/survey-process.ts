/** A process that surveys one document, so that one document does not change the time and memory of the next. */
import { DocumentProblem, UnreadableDocument } from '../../src/daemon/tools/openapi/document.ts';
import { surveyDocument } from './survey-document.ts';

const [path = ''] = process.argv.slice(2);
try {
  process.stdout.write(JSON.stringify(await surveyDocument(path)));
} catch (error) {
  if (!(error instanceof DocumentProblem || error instanceof UnreadableDocument)) throw error;
  console.error(`${error.problem}; what is needed: ${error.right}`);
  process.exitCode = 1;
}
