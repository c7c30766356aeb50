import TestTraits
import Testing

/// The number of blocks of memory that are allocated for a notification, from the push to its event.
@Suite(.waits) struct AllocationTests {
    @Test(arguments: ["single", "batch", "fan"])
    func `A notification takes no more allocations than it did`(mode: String) async throws {
        try await PythonScene.run("allocations", mode)
    }
}
