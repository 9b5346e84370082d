/**
 * Words of models, files and servers in VS Code's own notifications and input boxes. VS Code makes links of
 * `[text](command:…)` there, which run the command: words stay words.
 */
import { visible } from "../view/visible";

export function asWords(text: string): string {
    return visible(text).replaceAll("](", "] (");
}
