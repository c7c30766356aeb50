import Testing

/// Runs the tests. Without this file, the package manager writes such a program, which needs an index of all sources to
/// find the tests of XCTest. There are none, and a build without the index (`--disable-index-store`) takes less time.
@main
struct TestProgram {
    static func main() async {
        let arguments = CommandLine.arguments
        // `swift test` runs this program once for each library.
        guard let option = arguments.firstIndex(of: "--testing-library"),
            arguments[option...].dropFirst().first == "swift-testing"
        else { return }
        await Testing.__swiftPMEntryPoint() as Never
    }
}
