import Dispatch
import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import PushServer

@Suite struct DiskSpaceTests {
    @Test(.waits) func `A scrape shows the last numbers and never waits for the disk`() async throws {
        let directory = try TemporaryDirectory()
        let files = BlockingPool(name: "files", threadCount: 1, queueLimit: 8)
        let registry = MetricsRegistry()
        let disk = DiskSpace(of: directory.path, files: files, in: registry)
        #expect(registry.render().contains("carillon_disk_size_bytes NaN\n"))
        await disk.read()
        let bytes = try #require(disk.last)
        #expect(bytes.size > 0 && bytes.available <= bytes.size)
        #expect(registry.render().contains("carillon_disk_size_bytes \(bytes.size)\n"))

        // The only thread hangs. Refreshes return, and at most one of them waits in the pool.
        let (hangs, go) = (Latch(), DispatchSemaphore(value: 0))
        let hanging = Task {
            try await files.run {
                hangs.open()
                go.wait()
            }
        }
        await hangs.wait()
        for _ in 0..<100 { disk.refresh() }
        #expect(disk.last == bytes && files.load.waiting <= 1)
        go.signal()
        try await hanging.value
        await disk.read()
        #expect(disk.last != nil)
        // If the numbers cannot be read, none are shown.
        let lost = DiskSpace(of: directory.path + "/none", files: files, in: MetricsRegistry())
        await lost.read()
        #expect(lost.last == nil)
        await files.shutDown()
    }
}
