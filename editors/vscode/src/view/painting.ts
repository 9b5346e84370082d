/**
 * Paints one after the other. An effect of the page before may change the state while the next one is being painted: a
 * tree that is painted inside its own painting keeps elements that nobody removes.
 */
export function oneByOne(paint: () => void): () => void {
    let isPainting = false;
    let isDue = false;
    return () => {
        isDue = true;
        if (isPainting) {
            return;
        }
        isPainting = true;
        try {
            while (isDue) {
                isDue = false;
                paint();
            }
        } finally {
            isPainting = false;
        }
    };
}
