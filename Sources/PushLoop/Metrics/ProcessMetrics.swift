import Glibc

/// What the system knows of this process, under the names that Prometheus libraries have agreed on.
package enum ProcessMetrics {
    /// Once for each registry.
    package static func register(in registry: MetricsRegistry) {
        let started = MonotonicTime.current()
        let startedAt = WallTime.current()
        registry.computedGauge("process_resident_memory_bytes", help: "Memory that is in RAM.") {
            residentBytes.map { Double($0) } ?? .nan
        }
        registry.computedGauge("process_open_fds", help: "Open file descriptors.") {
            openDescriptorCount.map { Double($0) } ?? .nan
        }
        registry.computedGauge("process_max_fds", help: "How many file descriptors may be open.") {
            descriptorLimit.map { Double($0) } ?? .nan
        }
        registry.computedCounter("process_cpu_seconds_total", help: "Processor time, user and system.") {
            cpuTime.inSeconds
        }
        registry.computedGauge("process_start_time_seconds", help: "When the process started, in Unix time.") {
            Double(startedAt.milliseconds) / 1000
        }
        registry.computedCounter(
            "carillon_metrics_refused_series_total",
            help: "Series that are not shown, since their metric has as many as it may."
        ) { [weak registry] in Double(registry?.refusedSeries ?? 0) }
        registry.computedGauge("carillon_uptime_seconds", help: "How long Carillon has been running.") {
            (MonotonicTime.current() - started).inSeconds
        }
    }

    /// Nil where /proc is not mounted.
    package static var residentBytes: Int? {
        guard let text = readFile("/proc/self/statm") else { return nil }
        let fields = text.split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
        return pages * sysconf(CInt(_SC_PAGESIZE))
    }

    /// Nil where /proc is not mounted.
    package static var openDescriptorCount: Int? {
        guard let directory = unsafe opendir("/proc/self/fd") else { return nil }
        var count = 0
        while unsafe readdir(directory) != nil { count += 1 }
        unsafe closedir(directory)
        // Not counted: ".", "..", and the descriptor of this very reading.
        return count - 3
    }

    package static var descriptorLimit: UInt64? {
        var limit = rlimit()
        guard unsafe getrlimit(CInt(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return UInt64(limit.rlim_cur)
    }

    package static var cpuTime: Duration {
        var usage = rusage()
        unsafe _ = getrusage(RUSAGE_SELF.rawValue, &usage)
        return duration(usage.ru_utime) + duration(usage.ru_stime)
    }

    private static func duration(_ time: timeval) -> Duration {
        .seconds(Int64(time.tv_sec)) + .microseconds(Int64(time.tv_usec))
    }

    private static func readFile(_ path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(descriptor, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }
}
