/** The build puts the text of a style sheet into the script. */
declare module '*.css' {
  const text: string;
  export default text;
}
