/** The way to the host. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { FromView } from "../messages";
import type { Local } from "./state";

export interface Ends {
    readonly post: (message: FromView) => void;
    readonly dispatch: (message: Local) => void;
}

export const EndsContext = createContext<Ends>({
    post: () => undefined,
    dispatch: () => undefined,
});

export const useEnds = (): Ends => useContext(EndsContext);
