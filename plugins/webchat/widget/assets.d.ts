/** The build includes the text of a style sheet in the script. */
declare module '*.css' {
  const text: string;
  export default text;
}
