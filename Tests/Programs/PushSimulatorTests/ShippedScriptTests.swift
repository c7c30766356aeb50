import FoundationEssentials
import PushSimulator
import Testing

@Suite struct ShippedScriptTests {
    /// The fault script that Documentation/Simulator.md mentions, found relative to this file.
    @Test("The shipped fault script is valid")
    func theShippedFaultScriptLoads() throws {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let text = try #require(FileManager.default.contents(atPath: "/\(root)/Config/faults.json5"))
        let script = try FaultScript(Array(text))
        #expect(script.seed == 7)
        #expect(script.rules.count == 15)
    }
}
