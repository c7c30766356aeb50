import Foundation
import Testing

@testable import PushStore

@Suite struct RegistryFaultTests {
    @Test func `A file that is not a database is reported as damaged, with what to do`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "registry-\(UUID().uuidString).db").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data((0..<9000).map { UInt8(truncatingIfNeeded: $0 &* 7) }).write(to: URL(filePath: path))
        let error = await #expect(throws: StoreError.self) { _ = try await RegistrySchema.open(path) }
        #expect(error?.code == .damaged)
        #expect(error?.description == "\(path) is damaged, or is not a database; restore it from a backup")
    }
}
