import FoundationEssentials
import Glibc
import PushLoop

/// A temporary directory whose processes and files do not survive this process, however it ends.
///
/// A shell waits for the end of this process. Then it kills every process that works in a directory below this one, and
/// removes the files. The directory belongs to the user that runs PostgreSQL, because PostgreSQL refuses root.
package final class WatchedDirectory: Sendable {
    package let path: String
    private let isOnDisk: Bool
    private let alive: CInt
    private let watcher: ChildProcess

    /// The parent of the directories of tests: in memory if it has much room. A server begins with a thousand files,
    /// and a file system on a disk takes ten times as long to make them when it has just removed others.
    private static let memory: String? = {
        var system = statvfs()
        let isLarge = statvfs("/dev/shm", &system) == 0 && UInt64(system.f_bavail) * UInt64(system.f_frsize) >= 8 << 30
        return isLarge ? "/dev/shm" : nil
    }()

    private static let script = """
        read -r _ <"$0/alive"
        found=yes
        while [ -n "$found" ]; do
            found=
            for process in /proc/[0-9]*; do
                case $(readlink "$process/cwd" 2>/dev/null) in
                "$0"/*) kill -KILL "${process#/proc/}" 2>/dev/null && found=yes ;;
                esac
            done
        done
        for file in "$0"/*/postmaster.pid; do
            [ -e "$file" ] && ipcrm -m "$(sed -n '7s/.* //p' "$file")"
        done
        rm -rf "$0"
        """

    /// - Parameter isOnDisk: Whether the directory is on a disk, for what is measured there.
    package init(isOnDisk: Bool = false) throws {
        self.isOnDisk = isOnDisk
        let parent = isOnDisk ? nil : Self.memory
        var template = Array("\(parent ?? "/tmp")/carillon-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw ChildProcess.NotStarted(description: "cannot create a temporary directory: \(SystemError.current)")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Opened for both, so that it does not wait for the shell. When this process ends, the shell reads the end.
        guard mkfifo("\(path)/alive", 0o600) == 0 else {
            throw ChildProcess.NotStarted(description: "cannot create \(path)/alive: \(SystemError.current)")
        }
        alive = open("\(path)/alive", O_RDWR | O_CLOEXEC)
        watcher = try ChildProcess("setsid", ["sh", "-c", Self.script, path])
        if let user = DatabaseUser.current { chown(path, user.id, user.group) }
    }

    deinit {
        killProcesses()
        try? FileManager.default.removeItem(atPath: path)
        close(alive)
    }

    /// Returns another directory in the same file system.
    func sibling() throws -> WatchedDirectory { try WatchedDirectory(isOnDisk: isOnDisk) }

    /// The processes that work in a directory, such as all processes of a server.
    package static func processes(in directory: String) -> [Int32] {
        var found: [pid_t] = []
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let process = pid_t(name) else { continue }
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/\(name)/cwd", &target, target.count - 1)
            guard count > 0 else { continue }
            let path = String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if path == directory || path.hasPrefix(directory + "/") { found.append(process) }
        }
        return found
    }

    func killProcesses() {
        while true {
            let processes = Self.processes(in: path)
            if processes.isEmpty { return }
            for process in processes { kill(process, SIGKILL) }
            sched_yield()
        }
    }
}

/// The user that runs PostgreSQL when the tests run as root.
struct DatabaseUser {
    let id: uid_t
    let group: gid_t

    /// Nil if the tests do not run as root, and PostgreSQL therefore runs as the same user.
    static let current: DatabaseUser? = {
        guard geteuid() == 0 else { return nil }
        guard let entry = getpwnam("postgres") ?? getpwnam("nobody") else { return nil }
        return DatabaseUser(id: entry.pointee.pw_uid, group: entry.pointee.pw_gid)
    }()

    /// Returns a command that runs as this user.
    static func command(_ words: [String]) -> [String] {
        guard let user = current else { return words }
        return ["setpriv", "--reuid=\(user.id)", "--regid=\(user.group)", "--clear-groups", "--"] + words
    }
}
