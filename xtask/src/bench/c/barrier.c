/* barrier TURNS: ranks that work about a millisecond and wait for one another, TURNS times: what
 * holds one of them up holds up all. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    static volatile unsigned sum;
    MPI_Init(&argc, &argv);
    for (long turns = argc > 1 ? atol(argv[1]) : 1000; turns > 0; turns--) {
        for (unsigned i = 0; i < 500000; i++)
            sum += i;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
