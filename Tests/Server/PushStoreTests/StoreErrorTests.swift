import PushStore
import Testing

@Suite struct StoreErrorTests {
    @Test("The description of an error is its text") func itSaysWhatHappened() {
        #expect("\(StoreError(.full, "the disk of x is full"))" == "the disk of x is full")
    }
}
