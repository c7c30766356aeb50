import Glibc

/// Metrics of the process that the system keeps, with the names that Prometheus client libraries use.
package enum ProcessMetrics {
    /// Registers the metrics. Call it once per registry.
    package static func register(in registry: MetricsRegistry) {
        let started = MonotonicTime.current()
        let startedAt = WallTime.current()
        registry.computedGauge("process_resident_memory_bytes", help: "Resident memory size in bytes.") {
            residentBytes.map { Double($0) } ?? .nan
        }
        registry.computedGauge("process_open_fds", help: "Number of open file descriptors.") {
            openDescriptorCount.map { Double($0) } ?? .nan
        }
        registry.computedGauge("process_max_fds", help: "Maximum number of open file descriptors.") {
            descriptorLimit.map { Double($0) } ?? .nan
        }
        registry.computedCounter("process_cpu_seconds_total", help: "User and system CPU time in seconds.") {
            cpuTime.inSeconds
        }
        registry.computedGauge("process_start_time_seconds", help: "Start time of the process in Unix seconds.") {
            Double(startedAt.milliseconds) / 1000
        }
        registry.computedCounter(
            "carillon_metrics_refused_series_total",
            help: "Requested series that are not shown because their metric reached its series limit."
        ) { [weak registry] in Double(registry?.refusedSeries ?? 0) }
        registry.computedGauge("carillon_uptime_seconds", help: "Time since Carillon started, in seconds.") {
            (MonotonicTime.current() - started).inSeconds
        }
    }

    /// The resident memory in bytes, or nil if /proc is not mounted.
    package static var residentBytes: Int? {
        guard let text = readFile("/proc/self/statm") else { return nil }
        let fields = text.split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
        return pages * sysconf(CInt(_SC_PAGESIZE))
    }

    /// The number of open descriptors, or nil if /proc is not mounted.
    package static var openDescriptorCount: Int? {
        guard let directory = unsafe opendir("/proc/self/fd") else { return nil }
        var count = 0
        while unsafe readdir(directory) != nil { count += 1 }
        unsafe closedir(directory)
        // Exclude ".", ".." and the descriptor of this directory.
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
