import Glibc

/// The standard input, output and error of the process.
enum StandardDescriptors {
    /// Opens `/dev/null` for each that the parent process has closed. Otherwise the next file or socket would get its
    /// number, and text for people would be written to it.
    static func open() {
        // The kernel gives out the lowest free number first.
        while true {
            let descriptor = Glibc.open("/dev/null", O_RDWR)
            guard (0...2).contains(descriptor) else {
                if descriptor > 2 { close(descriptor) }
                return
            }
        }
    }
}
