//! What the machine counts of pages, told to the reducer: huge ones that were made, and shared
//! memory.

use reduce::tree::Tree;
use source::query::paging::Paging;
use source::root::Root;

/// The pages of this machine; nothing before the task begins.
#[derive(Debug, Default)]
pub(crate) struct Pages(Option<Paging>);

impl Pages {
    /// Tells what page faults bring here, and what there is as the task begins.
    pub(crate) fn begin(&mut self, tree: &mut Tree) {
        let paging = self.0.insert(Paging::open(&Root::default()));
        let made = paging.look().huge_made;
        if let (Some(sizes), Some(made)) = (paging.sizes, made) {
            tree.paging(sizes, made);
        }
        self.count(tree);
    }

    /// Tells what there is now.
    pub(crate) fn count(&mut self, tree: &mut Tree) {
        let Some(paging) = &mut self.0 else { return };
        let look = paging.look();
        if let Some(made) = look.huge_made {
            tree.huge_pages(made);
        }
        if let Some(shared) = look.shared {
            tree.machine_shared(shared);
        }
    }
}
