import Glibc
import PushLoop
import PushTime

/// The rate at which a backup copies, so that the server beside it keeps its disk.
final class BackupPace {
    /// The bytes after which what was written is synced. Without it, one sync at the end would hold up each commit of
    /// the server for seconds.
    private static let syncedAtOnce = 8 << 20

    private let bytesPerSecond: Int
    private let report: BackupReport
    private let start = MonotonicTime.current()
    private var before = 0
    private var synced = 0

    init(bytesPerSecond: Int, report: @escaping BackupReport) {
        self.bytesPerSecond = max(1, bytesPerSecond)
        self.report = report
    }

    /// Called while a file is copied. Waits as long as the rate asks for.
    func copied(_ done: Int, of all: Int, in file: String, to path: String) {
        report(file, done, all)
        let sum = before + done
        if sum - synced >= Self.syncedAtOnce {
            synced = sum
            // A failure shows in the last sync.
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            if descriptor >= 0 {
                fdatasync(descriptor)
                close(descriptor)
            }
        }
        let due = Double(sum) / Double(bytesPerSecond)
        let passed = (MonotonicTime.current() - start) / .seconds(1)
        if due > passed { usleep(UInt32(min(due - passed, 1) * 1_000_000)) }
    }

    /// Called when a file is complete.
    func ended(_ file: String, after all: Int) {
        report(file, all, all)
        before += all
    }
}
